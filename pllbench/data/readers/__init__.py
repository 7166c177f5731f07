"""From the files of data sets to tensors; nothing is downloaded twice or repaired in silence."""
