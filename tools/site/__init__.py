"""The documentation site: pages of the repository, and pages made from the code.

    pip install -e '.[docs]'
    python -m tools.site                   # build/pages: the Markdown of the site
    python -m zensical build --strict      # build/site

Pages stand in `build/pages` where they stand in the repository, so links between them work in both.
A page may hold lines such as `<!-- insert: options run -->`, in whose place comes what the code
says (`inserts`). Pages of data sets and pictures are committed, since they need data and time:
`python -m tools.site.datasets`, `python -m tools.site.pictures`.
"""
