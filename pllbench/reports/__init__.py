"""What records say: tables, statistics, comparisons; `formats` print, `plots` draw. No torch."""
