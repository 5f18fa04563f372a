import { boolean, index, pgTable, unique, uuid } from "drizzle-orm/pg-core";
import { boards } from "./board.sql.ts";
import { id, timestamps } from "./columns.ts";
import { organization_members } from "./organization.sql.ts";

/** Rights of a member to single boards, in addition to the two all-boards flags of the membership. */
export const organization_board_access = pgTable(
  "organization_board_access",
  {
    ...id,
    organization_member_id: uuid()
      .notNull()
      .references(() => organization_members.id, { onDelete: "cascade" }),
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    can_read: boolean().notNull(),
    can_write: boolean().notNull(),
    ...timestamps,
  },
  (t) => [
    unique("organization_board_access_board").on(t.organization_member_id, t.board_id),
    index("organization_board_access_by_board").on(t.board_id),
  ],
);
