"""How well a library finds and answers: questions with known answers, measured.

`metrics` is pure, `runner` asks, `report` shows, `checking` makes questions of a user's own
documents."""
