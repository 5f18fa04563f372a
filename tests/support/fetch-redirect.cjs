// Preloaded into the process of a service: it sends what the process fetches from other hosts to OTHERS_URL instead. The path
// there begins with the name of the host.
const { fetch } = globalThis;

globalThis.fetch = (input, init) => {
  const request = new Request(input, init);
  const { host, pathname, search } = new URL(request.url);
  return fetch(new Request(`${process.env.OTHERS_URL}/${host}${pathname}${search}`, request));
};
