"""Back to words: a plan for people (`explain`) and for Spark (`spark`), an expression (`unparse`), a refusal (`render`)."""
