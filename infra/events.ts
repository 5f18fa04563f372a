/**
 * Where board events go out, for rules of whoever subscribes. It keeps its name for ever, since rules outside are made on
 * it; it costs nothing while nothing is put on it, so that BOARD_EVENTS=off only stops the putting and no rule is lost.
 */
export const bus = new aws.cloudwatch.EventBus(
  "Events",
  { name: `${$app.name}-${$app.stage}`, description: "What happens on boards, for rules" },
  { retainOnDelete: $app.removal !== "remove" },
);

const on = process.env.BOARD_EVENTS !== "off";

/** For every function that runs the domain. */
export const eventSettings: Record<string, $util.Input<string>> = on ? { EVENT_BUS_NAME: bus.name } : {};

/** For the one function that publishes: events are jobs of the deliveries queue. */
export const mayPublish = on ? [{ actions: ["events:PutEvents"], resources: [bus.arn] }] : [];
