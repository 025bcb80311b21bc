"""Questions as people ask them over documents as people have them; see README.md beside this."""
