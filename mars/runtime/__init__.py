"""What a process takes from the system besides its adapters: time, threads, new ids; and helpers that need only time."""
