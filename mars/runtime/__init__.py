"""What a process takes from the system besides its adapters: time, threads, new ids; and what is made of time alone."""
