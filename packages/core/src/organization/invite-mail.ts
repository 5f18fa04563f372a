import { and, eq, isNull } from "drizzle-orm";
import type { JobHandler } from "../job/handler.ts";
import { organization_invites } from "../schema/invite.sql.ts";
import { organizations, users } from "../schema/organization.sql.ts";
import { truncate } from "../values/text.ts";
import { oneLine } from "../values/wire.ts";
import { unseal } from "../values/seal.ts";

/** Names in mails to strangers are shortened, so that an invite cannot be used for advertising. */
const MAX_NAME = 60;
const shortName = (name: string): string => truncate(oneLine(name), MAX_NAME);

/** Sends the link of an invite, unless the invite is no longer open. */
export const mailInvite: JobHandler<"invite.mail"> = {
  async run({ db, mail, settings }, { invite_id }, { id }) {
    if (!mail) return;
    const [invite] = await db
      .select({
        email: organization_invites.invited_email,
        token_sealed: organization_invites.token_sealed,
        organization: organizations.name,
        inviter: users.name,
      })
      .from(organization_invites)
      .innerJoin(organizations, eq(organizations.id, organization_invites.organization_id))
      .leftJoin(users, eq(users.id, organization_invites.created_by_user_id))
      .where(and(eq(organization_invites.id, invite_id), isNull(organization_invites.accepted_at)));
    if (!invite) return;
    const organization = shortName(invite.organization);
    const inviter = shortName(invite.inviter ?? "") || "An administrator";
    const link = `${settings.service_url}/#invite=${unseal(settings.encryption_key, invite.token_sealed)}`;
    await mail.send({
      to: invite.email,
      subject: `Invitation to “${organization}” on Board`,
      text: `${inviter} invites you to “${organization}” on Board. This link is for you alone, and it counts once:\n\n${link}\n\nIf you do not know what this is about, ignore this mail.\n`,
      id,
    });
  },
};
