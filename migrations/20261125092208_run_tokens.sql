CREATE TABLE "run_tokens" (
	"run_id" uuid PRIMARY KEY NOT NULL,
	"token_lookup" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "run_tokens" ADD CONSTRAINT "run_tokens_run_id_runs_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."runs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "run_tokens_lookup" ON "run_tokens" USING btree ("token_lookup");