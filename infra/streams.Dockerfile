# The container of all streams (docs/deploying.md, "Streams from a container"). Built by a deployment with STREAM_DOMAIN.
FROM public.ecr.aws/docker/library/node:24-slim AS build
WORKDIR /app
COPY . .
RUN npm ci
RUN npx --no-install esbuild packages/functions/src/stream-server.ts --bundle --splitting --minify --platform=node \
  --format=esm --main-fields=module,main --outdir=/streams --out-extension:.js=.mjs \
  --banner:js="import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

FROM public.ecr.aws/docker/library/node:24-slim
COPY --from=build /streams /streams
USER node
CMD ["node", "/streams/stream-server.mjs"]
