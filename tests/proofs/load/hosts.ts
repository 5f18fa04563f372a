import { type FakeGateway, startFakeGateway } from "../../support/fake-gateway/server.ts";

export const HOST_TOKEN = "test-token-123";

/** Starts a host of a release that does not restart after config writes, without delays. */
export const startHost = (): Promise<FakeGateway> => startFakeGateway({ token: HOST_TOKEN, dialect: "2026.9.6" });
