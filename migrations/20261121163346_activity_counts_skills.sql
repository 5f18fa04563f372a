CREATE TABLE "activity_counted" (
	"only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"tx" "xid8" NOT NULL,
	"seq" bigint NOT NULL,
	CONSTRAINT "activity_counted_only" CHECK ("activity_counted"."only")
);
--> statement-breakpoint
CREATE TABLE "activity_counts" (
	"board_id" uuid NOT NULL,
	"hour" timestamp (3) with time zone NOT NULL,
	"events" integer NOT NULL,
	"failed" integer NOT NULL,
	"comments" integer NOT NULL,
	CONSTRAINT "activity_counts_board_id_hour_pk" PRIMARY KEY("board_id","hour")
);
--> statement-breakpoint
CREATE TABLE "skill_pack_syncs" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"pack_id" uuid NOT NULL,
	"status" text DEFAULT 'running' NOT NULL,
	"synced" integer DEFAULT 0 NOT NULL,
	"created" integer DEFAULT 0 NOT NULL,
	"updated" integer DEFAULT 0 NOT NULL,
	"warnings" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"error" text,
	"finished_at" timestamp (3) with time zone,
	CONSTRAINT "skill_pack_syncs_status" CHECK ("skill_pack_syncs"."status" in ('running', 'done', 'failed'))
);
--> statement-breakpoint
CREATE TABLE "gateway_installed_skills" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"gateway_id" uuid NOT NULL,
	"skill_id" uuid NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "gateway_installed_skills_skill" UNIQUE("gateway_id","skill_id")
);
--> statement-breakpoint
CREATE TABLE "marketplace_skills" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"organization_id" uuid NOT NULL,
	"name" text NOT NULL,
	"description" text,
	"category" text,
	"risk" text,
	"source_label" text,
	"source_url" text NOT NULL,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "marketplace_skills_url" UNIQUE("organization_id","source_url")
);
--> statement-breakpoint
DROP INDEX "activity_by_user";--> statement-breakpoint
ALTER TABLE "activity_counts" ADD CONSTRAINT "activity_counts_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "skill_pack_syncs" ADD CONSTRAINT "skill_pack_syncs_pack_id_skill_packs_id_fk" FOREIGN KEY ("pack_id") REFERENCES "public"."skill_packs"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "gateway_installed_skills" ADD CONSTRAINT "gateway_installed_skills_gateway_id_gateways_id_fk" FOREIGN KEY ("gateway_id") REFERENCES "public"."gateways"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "gateway_installed_skills" ADD CONSTRAINT "gateway_installed_skills_skill_id_marketplace_skills_id_fk" FOREIGN KEY ("skill_id") REFERENCES "public"."marketplace_skills"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "marketplace_skills" ADD CONSTRAINT "marketplace_skills_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "skill_pack_syncs_by_pack" ON "skill_pack_syncs" USING btree ("pack_id","created_at","id");--> statement-breakpoint
CREATE INDEX "gateway_installed_skills_by_skill" ON "gateway_installed_skills" USING btree ("skill_id");--> statement-breakpoint
CREATE INDEX "marketplace_skills_by_organization" ON "marketplace_skills" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "marketplace_skills_by_repository" ON "marketplace_skills" USING btree ("organization_id",split_part("source_url", '/tree/', 1));--> statement-breakpoint
CREATE INDEX "activity_by_organization" ON "activity_events" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "comments_by_organization" ON "activity_events" USING btree ("organization_id","created_at","id") WHERE event_type = 'task.comment';--> statement-breakpoint
CREATE INDEX "comments_in_commit_order" ON "activity_events" USING btree ("organization_id","tx","seq") WHERE event_type = 'task.comment';