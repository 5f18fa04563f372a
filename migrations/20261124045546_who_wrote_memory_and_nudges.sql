ALTER TABLE "inbox_messages" ADD COLUMN "author_id" uuid;--> statement-breakpoint
ALTER TABLE "board_memory" ADD COLUMN "author_type" text;--> statement-breakpoint
ALTER TABLE "board_memory" ADD COLUMN "author_id" uuid;--> statement-breakpoint
ALTER TABLE "board_memory" ADD CONSTRAINT "board_memory_author" CHECK ("board_memory"."author_type" in ('user', 'agent', 'system'));