# Everything is made in the first stage, so the second one needs no package manager, network or right to write.
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY . .
RUN npm ci
RUN npm run build
# Node and the tools that built the programs are optional or for development. The programs do not need them.
RUN npm prune --omit=dev --omit=optional
RUN mkdir data

FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8000 DATA_DIR=/data
WORKDIR /app
COPY --from=build /app /app
COPY --from=build --chown=node:node /app/data /data
USER node
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["node", "scripts/check-health.mjs"]
CMD ["node", "scripts/start.mjs", "main"]
