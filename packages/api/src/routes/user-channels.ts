import { Channel, getChannel, listChannels, removeChannel, UpdateChannel, updateChannel } from "@board/core/channel/channel";
import { ChannelTest, testChannel } from "@board/core/channel/test-message";
import { user } from "@board/core/context/actor";
import { addPushSubscription, CreatePushSubscription, getPushKey, PushKey } from "@board/core/push/subscription";
import { Ok, ok } from "@board/core/values/wire";
import * as z from "zod";
import { endpoint } from "../endpoint.ts";
import { CHANNELS } from "../work/channels.ts";

const PATH = "/api/v1/users/me/channels/{channel_id}";
const PUSH = "/api/v1/users/me/push";

/** The channels through which the calling person is reached outside the console. */
export const userChannels = [
  endpoint("GET", "/api/v1/users/me/channels", { as: user, summary: "List your channels", returns: z.array(Channel) }, (ctx) =>
    listChannels(ctx),
  ),
  endpoint(
    "PATCH",
    PATH,
    {
      as: user,
      summary: "Switch a channel on or off",
      authorize: (ctx, params) => getChannel(ctx, params.channel_id),
      body: UpdateChannel,
      returns: Channel,
    },
    (ctx, { params, body }) => updateChannel(ctx, params.channel_id, body),
  ),
  endpoint(
    "DELETE",
    PATH,
    {
      as: user,
      summary: "Remove a channel",
      description:
        "For example, a browser. Messages that are waiting for this channel are not sent. E-mail can only be switched off.",
      errors: [404, 409],
      returns: Ok,
    },
    async (ctx, { params }) => {
      await removeChannel(ctx, params.channel_id);
      return ok;
    },
  ),
  endpoint(
    "POST",
    `${PATH}/test`,
    { as: user, summary: "Send yourself a test message", errors: [404, 409], returns: ChannelTest },
    (ctx, { params }) => testChannel(ctx, CHANNELS, params.channel_id),
  ),
  endpoint(
    "GET",
    PUSH,
    {
      as: user,
      summary: "Get the key for web push",
      description: "The key is created by the first request and stays the same.",
      returns: PushKey,
    },
    (ctx) => getPushKey(ctx),
  ),
  endpoint(
    "POST",
    PUSH,
    {
      as: user,
      summary: "Be notified in a browser",
      description:
        "Stores the push subscription of a browser as one of your channels. Sending the same subscription again changes nothing, except that a subscription of another person who was signed in there becomes yours.",
      errors: [409, 422],
      body: CreatePushSubscription,
      returns: Channel,
    },
    (ctx, { body }) => addPushSubscription(ctx, body),
  ),
];
