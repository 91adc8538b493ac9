"""The REST API: `app` joins the routes; `problems` are its errors, `pools` its threads, `events` its stream of results."""
