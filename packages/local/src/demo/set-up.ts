import type { Agent, Demo } from "./demo.ts";

const TAGS = { money: "2e7d32", customers: "f9a825", shop: "1565c0", code: "6a1b9a" };
export type Tag = keyof typeof TAGS;

export interface DemoBoard {
  board_id: string;
  agents: Record<Agent, { id: string; token: string }>;
  tag_ids: Record<Tag, string>;
  /** Where external systems post, and the secret that they sign with. */
  webhooks: Record<"github" | "alerts" | "support", { path: string; secret: string | null }>;
}

/** Creates a board with rules, tags, agents and webhooks through the API, as a person would. */
export async function setUpBoard({ api, say }: Demo): Promise<DemoBoard> {
  const description = "Keep the shop running and its customers happy.";
  const rules = { comment_required_for_review: true, require_review_before_done: true, require_approval_for_done: true };
  const board = { name: "Web shop", description, gateway: "pull" as const, max_agents: 5, ...rules };
  const { id: board_id } = await api.post("/api/v1/boards", { body: board });
  say("you", `create the board Web shop: ${description}`);
  say("you", "set its rules: review needs a comment, done needs a review and your approval");
  const addTag = async (name: Tag) => (await api.post("/api/v1/tags", { body: { name, color: TAGS[name] } })).id;
  const tag_ids = {
    money: await addTag("money"),
    customers: await addTag("customers"),
    shop: await addTag("shop"),
    code: await addTag("code"),
  };
  const addAgent = async (name: Agent) => {
    const { id, auth_token } = await api.post("/api/v1/agents", { body: { name, board_id, is_board_lead: name === "Iris" } });
    return { id, token: auth_token! };
  };
  const [Iris, Milo] = [await addAgent("Iris"), await addAgent("Milo")];
  const [Juno, Rex] = [await addAgent("Juno"), await addAgent("Rex")];
  const [Nova, Otto] = [await addAgent("Nova"), await addAgent("Otto")];
  say("you", "add Iris as lead, Milo, Juno, Rex, Nova and Otto as workers, each with a token");
  const addWebhook = async (description: string, secret: string | null) => {
    const params = { path: { board_id } };
    const { endpoint_path } = await api.post("/api/v1/boards/{board_id}/webhooks", { params, body: { description, secret } });
    return { path: endpoint_path, secret };
  };
  const webhooks = {
    github: await addWebhook("Pushes: note what changed, have payments tested.", crypto.randomUUID()),
    alerts: await addWebhook("Alerts: note them, have critical ones investigated.", crypto.randomUUID()),
    support: await addWebhook("Customers: handle the request and answer.", null),
  };
  say("you", "create webhooks for pushes, alerts (both signed) and customers");
  return { board_id, agents: { Iris, Milo, Juno, Rex, Nova, Otto }, tag_ids, webhooks };
}
