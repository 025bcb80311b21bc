"""How well a library finds and answers: questions with known answers, measured.

`metrics` is pure, `runner` asks and shows, `self_check` makes questions of a user's own
documents."""
