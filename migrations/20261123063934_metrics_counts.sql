CREATE TABLE "activity_day_counts" (
	"board_id" uuid NOT NULL,
	"day" timestamp (3) with time zone NOT NULL,
	"events" integer NOT NULL,
	"failed" integer NOT NULL,
	CONSTRAINT "activity_day_counts_board_id_day_pk" PRIMARY KEY("board_id","day")
);
--> statement-breakpoint
CREATE TABLE "task_counts" (
	"board_id" uuid NOT NULL,
	"inbox" integer NOT NULL,
	"in_progress" integer NOT NULL,
	"review" integer NOT NULL,
	"done" integer NOT NULL,
	CONSTRAINT "task_counts_board_id_pk" PRIMARY KEY("board_id")
);
--> statement-breakpoint
CREATE TABLE "transition_counts" (
	"board_id" uuid NOT NULL,
	"span" text NOT NULL,
	"start" timestamp (3) with time zone NOT NULL,
	"inbox" integer NOT NULL,
	"in_progress" integer NOT NULL,
	"review" integer NOT NULL,
	"done" integer NOT NULL,
	"reviewed_in_hour" integer NOT NULL,
	"reviewed_in_day" integer NOT NULL,
	"reviewed_in_week" integer NOT NULL,
	"reviewed_in_month" integer NOT NULL,
	"completed" integer NOT NULL,
	"cycle_ms" bigint NOT NULL,
	CONSTRAINT "transition_counts_board_id_span_start_pk" PRIMARY KEY("board_id","span","start"),
	CONSTRAINT "transition_counts_span" CHECK ("transition_counts"."span" in ('hour', 'day'))
);
--> statement-breakpoint
CREATE TABLE "transitions_counted" (
	"only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"tx" "xid8" NOT NULL,
	"transition_id" uuid NOT NULL,
	CONSTRAINT "transitions_counted_only" CHECK ("transitions_counted"."only")
);
--> statement-breakpoint
DROP INDEX "task_transitions_by_target";--> statement-breakpoint
ALTER TABLE "task_transitions" ADD COLUMN "reviewed_before" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "task_transitions" ADD COLUMN "tx" "xid8" DEFAULT pg_current_xact_id() NOT NULL;--> statement-breakpoint
ALTER TABLE "activity_day_counts" ADD CONSTRAINT "activity_day_counts_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "task_counts" ADD CONSTRAINT "task_counts_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "transition_counts" ADD CONSTRAINT "transition_counts_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "task_transitions_finished" ON "task_transitions" USING btree ("board_id","to_status","at","in_progress_at") WHERE to_status in ('review', 'done');--> statement-breakpoint
CREATE INDEX CONCURRENTLY "task_transitions_in_commit_order" ON "task_transitions" USING btree ("board_id","tx","id");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "task_transitions_unnamed_reviews" ON "task_transitions" USING btree ("board_id","in_progress_at","at","id") WHERE task_id is null and to_status = 'review';