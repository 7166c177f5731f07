"""Views of a batch: by kind of data and role, image operations, scaling.

Which roles a method wants is its own matter (`Method.views`); view settings are in `pllbench.spec`.
"""
