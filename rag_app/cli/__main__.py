"""`python -m rag_app.cli …` is `rag-app …`."""

import sys

from rag_app.cli.entry import main

sys.exit(main())
