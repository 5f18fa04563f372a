import { generic } from "./generic.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import { linear } from "./linear.ts";
import { sentry } from "./sentry.ts";
import { slack } from "./slack.ts";
import type { Source } from "./source.ts";
import { standard_webhooks } from "./standard-webhooks.ts";
import { stripe } from "./stripe.ts";
import type { SourceName } from "../../schema/webhook.sql.ts";

export const SOURCES: Readonly<Record<SourceName, Source>> = {
  generic,
  github,
  gitlab,
  stripe,
  slack,
  linear,
  sentry,
  standard_webhooks,
};
