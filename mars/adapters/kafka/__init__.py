"""Kafka: `wire` asks leaders for batches and offsets, `cluster` knows them and tries again, over `brokers` and `channel`;
`admin` asks both now and then, and peeks at messages by confluent-kafka, which `transactions` uses too.
"""
