import { adminOrAgent } from "@board/core/context/actor";
import { getSoul, searchSouls, Soul, SoulQuery, SoulsFound } from "@board/openclaw/soul/soul";
import { endpoint, withPrefixes } from "../endpoint.ts";

const prefixes = ["/api/souls-directory", "/api/v1/souls-directory"] as const;

/** The souls directory: templates for the SOUL.md of agents. */
export const souls = [
  endpoint(
    "GET",
    withPrefixes(prefixes, "/search"),
    {
      as: adminOrAgent,
      summary: "Search the souls directory",
      calls_out: true,
      errors: [502],
      description: "Returns 502 if the remote directory is unreachable and no cached copy exists.",
      query: SoulQuery,
      returns: SoulsFound,
    },
    (ctx, { query }) => searchSouls(ctx, query),
  ),
  endpoint(
    "GET",
    withPrefixes(prefixes, "/{handle}/{slug}"),
    {
      as: adminOrAgent,
      summary: "Get a soul",
      calls_out: true,
      errors: [502],
      description: "The slug may end with .md. Returns 502 if the remote directory is unreachable and no cached copy exists.",
      returns: Soul,
    },
    (ctx, { params }) => getSoul(ctx, params),
  ),
];
