"""From the files of data sets to tensors. Malformed files are refused, never repaired."""
