"""Views of a batch: roles by kind of data, image operations, scaling."""
