"""The nouns: what runs (`plan`, `expressions`, `types`), what exists (`registry`), what is true (`commits`), where it is
stored (`names`), and how names and durations are written. Pure data; nothing here knows the outside.
"""
