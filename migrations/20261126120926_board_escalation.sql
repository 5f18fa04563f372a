ALTER TABLE "boards" ADD COLUMN "escalate_after_minutes" integer;--> statement-breakpoint
ALTER TABLE "boards" ADD CONSTRAINT "boards_escalation" CHECK ("boards"."escalate_after_minutes" >= 1);