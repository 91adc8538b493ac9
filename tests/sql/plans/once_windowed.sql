SELECT sip, count(*) FROM flows GROUP BY sip WINDOWING 60 s ORDER BY window_start DESC, count
