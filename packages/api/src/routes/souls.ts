import { adminOrAgent } from "@board/core/actor";
import { getSoul, searchSouls, Soul, SoulQuery, SoulsFound } from "@board/core/soul/soul";
import { endpoint, under } from "../endpoint.ts";

const both = ["/api/souls-directory", "/api/v1/souls-directory"] as const;

/** Templates for the souls of agents. */
export const souls = [
  endpoint(
    "GET",
    under(both, "/search"),
    {
      as: adminOrAgent,
      summary: "Search the souls directory",
      errors: [502],
      description: "502 when a remote directory cannot be read and nothing of it was kept.",
      query: SoulQuery,
      returns: SoulsFound,
    },
    (ctx, { query }) => searchSouls(ctx, query),
  ),
  endpoint(
    "GET",
    under(both, "/{handle}/{slug}"),
    {
      as: adminOrAgent,
      summary: "Read a soul",
      errors: [502],
      description: "The slug may end with .md. 502 when a remote directory cannot be read and nothing of it was kept.",
      returns: Soul,
    },
    (ctx, { params }) => getSoul(ctx, params),
  ),
];
