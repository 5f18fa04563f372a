import * as z from "zod";
import { APPROVAL_STATUSES } from "../schema/approval.sql.ts";

export const ApprovalStatus = z.enum(APPROVAL_STATUSES);
export type ApprovalStatus = z.infer<typeof ApprovalStatus>;
