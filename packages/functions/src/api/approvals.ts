import { approvalStream } from "@board/api/routes/approval-stream";
import { approvals } from "@board/api/routes/approvals";
import { createHttpHandler } from "../http-handler.ts";

export const handler = createHttpHandler([...approvals, ...approvalStream]);
