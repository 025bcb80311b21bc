"""`python -m rag_app.cli …` is `rag-app …`."""

import sys

from rag_app.cli import main

sys.exit(main())
