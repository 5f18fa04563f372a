CREATE TABLE "saved_views" (
	"board_id" uuid NOT NULL,
	"organization_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"views" jsonb NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "saved_views_board_id_user_id_pk" PRIMARY KEY("board_id","user_id")
);
--> statement-breakpoint
ALTER TABLE "saved_views" ADD CONSTRAINT "saved_views_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "saved_views" ADD CONSTRAINT "saved_views_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "saved_views" ADD CONSTRAINT "saved_views_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "saved_views_by_user" ON "saved_views" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "saved_views_by_organization" ON "saved_views" USING btree ("organization_id");
--> statement-breakpoint
CREATE FUNCTION "count_text_of_saved_views"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", 200 + octet_length(NEW."views"::text));
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM public.add_text_bytes(NEW."organization_id", (200 + octet_length(NEW."views"::text)) - (200 + octet_length(OLD."views"::text)));
  ELSE
    PERFORM public.add_text_bytes(freed.owner_id, -freed.bytes)
    FROM (SELECT item."organization_id" AS owner_id, sum(200 + octet_length(item."views"::text))::bigint AS bytes FROM removed AS item GROUP BY 1) AS freed;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "text_of_new_saved_views" AFTER INSERT ON "saved_views" FOR EACH ROW EXECUTE FUNCTION "count_text_of_saved_views"();
--> statement-breakpoint
CREATE TRIGGER "text_of_updated_saved_views" AFTER UPDATE OF "views" ON "saved_views" FOR EACH ROW WHEN ((200 + octet_length(OLD."views"::text)) <> (200 + octet_length(NEW."views"::text))) EXECUTE FUNCTION "count_text_of_saved_views"();
--> statement-breakpoint
CREATE TRIGGER "text_of_removed_saved_views" AFTER DELETE ON "saved_views" REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_text_of_saved_views"();
