import { readFileSync } from "node:fs";
import { endpoints } from "@board/api/groups";
import { expect, test } from "vitest";

const manifest = JSON.parse(readFileSync(new URL("../../docs/slack-manifest.json", import.meta.url), "utf8"));

test("the manifest of the Slack app names the routes that take its requests, and asks for no right that is not used", () => {
  const urls = [
    manifest.settings.interactivity.request_url,
    ...manifest.features.slash_commands.map(({ url }: { url: string }) => url),
  ];
  const posts = endpoints.filter(({ method }) => method === "POST").flatMap(({ paths }) => paths);
  for (const url of urls) expect(posts).toContain(new URL(url).pathname);
  expect(manifest.oauth_config.scopes).toEqual({ bot: ["chat:write", "commands"] });
  expect(manifest.features.app_home.messages_tab_enabled).toBe(true);
});
