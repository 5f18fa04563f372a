// The health check of the container. It exits with 0 when the service in the container is ready.
const address = `http://127.0.0.1:${process.env.PORT ?? 8000}/readyz`;
const isReady = await fetch(address).then(
  (answer) => answer.ok,
  () => false,
);
process.exit(isReady ? 0 : 1);
