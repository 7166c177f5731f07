"""Write the Markdown of the site."""

import sys

from tools.site.assemble import PAGES, assemble

assemble(PAGES)
sys.stdout.write(f"{PAGES}\n")
