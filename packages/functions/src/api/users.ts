import { ownKeys } from "@board/api/routes/keys";
import { userChannels } from "@board/api/routes/user-channels";
import { userInbox } from "@board/api/routes/user-inbox";
import { users } from "@board/api/routes/users";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler([...users, ...userInbox, ...userChannels, ...ownKeys]);
