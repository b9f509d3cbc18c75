"""What the integration tests share: the daemon, a scripted publisher, receivers, waiting."""
