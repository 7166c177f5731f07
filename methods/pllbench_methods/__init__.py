"""The built-in methods, registered like any third party's: one file each."""
