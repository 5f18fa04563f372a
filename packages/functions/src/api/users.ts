import { ownKeys } from "@board/api/routes/keys";
import { slackLink } from "@board/api/routes/slack";
import { userChannels } from "@board/api/routes/user-channels";
import { userInbox } from "@board/api/routes/user-inbox";
import { users } from "@board/api/routes/users";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler([...users, ...userInbox, ...userChannels, ...slackLink, ...ownKeys]);
