"""Kafka: `wire` asks leaders for batches, `cluster` knows them and tries again, over `brokers` and `channel`; `admin`
and `transactions` leave that to confluent-kafka.
"""
