"""From the files of a data set to tensors, one module for each family of formats."""
