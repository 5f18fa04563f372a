# The image has what `npm install board-coordination` has, on a base without shell and package manager. Only Node depends on the
# processor, so everything else is built once for all of them.
FROM --platform=$BUILDPLATFORM node:24.21.0-bookworm-slim AS build
WORKDIR /build
COPY . .
RUN npm ci
RUN node packages/board/build.mjs
RUN npm pack ./packages/board/dist
RUN mkdir app data && echo '{}' > app/package.json
RUN cd app && npm install --no-package-lock ../board-coordination-*.tgz

FROM node:24.21.0-bookworm-slim AS node

FROM gcr.io/distroless/cc-debian12:nonroot
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8000 DATA_DIR=/data
WORKDIR /app
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=build /build/app /app
COPY --from=build --chown=1000:1000 /build/data /data
USER 1000:1000
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["/usr/local/bin/node", "node_modules/board-coordination/board.js", "service", "health"]
ENTRYPOINT ["/usr/local/bin/node", "/app/node_modules/board-coordination/board.js"]
CMD ["start"]
