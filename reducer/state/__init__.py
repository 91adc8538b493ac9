"""What the owner of a key part holds of each query: entries merged in offset order, windows closed; why a query stops."""
