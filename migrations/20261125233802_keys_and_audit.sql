CREATE TABLE "audit_chains" (
	"organization_id" uuid PRIMARY KEY NOT NULL,
	"seq" bigint NOT NULL,
	"hash" "bytea" NOT NULL,
	"removed_seq" bigint NOT NULL,
	"removed_hash" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "audit_events" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"organization_id" uuid NOT NULL,
	"seq" bigint NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"action" text NOT NULL,
	"actor_type" text NOT NULL,
	"actor_id" uuid,
	"actor_name" text,
	"target_type" text NOT NULL,
	"target_id" uuid,
	"target_name" text,
	"changes" json NOT NULL,
	"address" text,
	"user_agent" text,
	"trace_id" text,
	"hash" "bytea" NOT NULL,
	CONSTRAINT "audit_events_seq" UNIQUE("organization_id","seq")
);
--> statement-breakpoint
CREATE TABLE "api_key_tokens" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"key_id" uuid NOT NULL,
	"token_lookup" text NOT NULL,
	"ends_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "api_key_tokens_token_lookup_unique" UNIQUE("token_lookup")
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"owner_member_id" uuid,
	"access" text NOT NULL,
	"board_ids" uuid[],
	"prefix" text NOT NULL,
	"created_by_user_id" uuid,
	"last_used_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone,
	"warned_days" integer,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "api_keys_access" CHECK ("api_keys"."access" in ('read', 'write', 'admin'))
);
--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "service_organization_id" uuid;--> statement-breakpoint
ALTER TABLE "audit_chains" ADD CONSTRAINT "audit_chains_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "audit_events" ADD CONSTRAINT "audit_events_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_key_tokens" ADD CONSTRAINT "api_key_tokens_key_id_api_keys_id_fk" FOREIGN KEY ("key_id") REFERENCES "public"."api_keys"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_id_users_id_fk" FOREIGN KEY ("id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_owner_member_id_organization_members_id_fk" FOREIGN KEY ("owner_member_id") REFERENCES "public"."organization_members"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_created_by_user_id_users_id_fk" FOREIGN KEY ("created_by_user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "audit_events_by_age" ON "audit_events" USING btree ("at");--> statement-breakpoint
CREATE INDEX "api_key_tokens_by_key" ON "api_key_tokens" USING btree ("key_id");--> statement-breakpoint
CREATE INDEX "api_key_tokens_by_end" ON "api_key_tokens" USING btree ("ends_at");--> statement-breakpoint
CREATE INDEX "api_keys_by_organization" ON "api_keys" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "api_keys_by_owner" ON "api_keys" USING btree ("owner_member_id");--> statement-breakpoint
CREATE INDEX "api_keys_by_creator" ON "api_keys" USING btree ("created_by_user_id");--> statement-breakpoint
CREATE INDEX "api_keys_by_expiry" ON "api_keys" USING btree ("expires_at");--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_service_organization_id_organizations_id_fk" FOREIGN KEY ("service_organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX CONCURRENTLY "users_of_services" ON "users" USING btree ("service_organization_id") WHERE service_organization_id is not null;
--> statement-breakpoint
-- Gives the service user of a key the rights that the key has now: all rights, or those of the person of a personal key, cut to
-- the access and the boards of the key.
CREATE FUNCTION "grant_key"(of_key public.api_keys) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  service_id uuid;
  is_admin boolean := true;
  reads_all boolean := true;
  writes_all boolean := true;
  is_limited boolean := of_key.board_ids IS NOT NULL;
  may_write boolean := of_key.access <> 'read';
BEGIN
  SELECT member.id INTO service_id FROM public.organization_members AS member
    WHERE member.user_id = of_key.id AND member.organization_id = of_key.organization_id;
  IF service_id IS NULL THEN
    RETURN;
  END IF;
  IF of_key.owner_member_id IS NOT NULL THEN
    SELECT owner.role <> 'member', owner.all_boards_read OR owner.all_boards_write, owner.all_boards_write
      INTO is_admin, reads_all, writes_all
      FROM public.organization_members AS owner WHERE owner.id = of_key.owner_member_id;
  END IF;
  UPDATE public.organization_members AS member SET updated_at = now(),
      role = CASE WHEN is_admin AND of_key.access = 'admin' THEN 'admin' ELSE 'member' END,
      all_boards_read = reads_all AND NOT is_limited, all_boards_write = writes_all AND may_write AND NOT is_limited
    WHERE member.id = service_id;
  DELETE FROM public.organization_board_access AS access WHERE access.organization_member_id = service_id;
  INSERT INTO public.organization_board_access (organization_member_id, board_id, can_read, can_write)
    SELECT service_id, board.id, true, may_write AND (writes_all OR coalesce(access.can_write, false))
    FROM public.boards AS board
    LEFT JOIN public.organization_board_access AS access
      ON access.organization_member_id = of_key.owner_member_id AND access.board_id = board.id
    WHERE board.organization_id = of_key.organization_id
      AND CASE WHEN is_limited THEN board.id = ANY (of_key.board_ids) AND (reads_all OR access.can_read OR access.can_write)
        ELSE of_key.owner_member_id IS NOT NULL AND (access.can_read OR access.can_write) END;
END $$;
--> statement-breakpoint
CREATE FUNCTION "grant_new_key"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.grant_key(NEW);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "rights_of_keys" AFTER INSERT ON "api_keys" FOR EACH ROW EXECUTE FUNCTION "grant_new_key"();
--> statement-breakpoint
-- Personal keys follow the rights of their person.
CREATE FUNCTION "grant_keys_of_member"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  member_id uuid;
BEGIN
  IF TG_TABLE_NAME = 'organization_members' THEN
    member_id := NEW.id;
  ELSIF TG_OP = 'DELETE' THEN
    member_id := OLD.organization_member_id;
  ELSE
    member_id := NEW.organization_member_id;
  END IF;
  PERFORM public.grant_key(key) FROM public.api_keys AS key WHERE key.owner_member_id = member_id;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "keys_of_members" AFTER UPDATE ON "organization_members" FOR EACH ROW
  WHEN ((OLD.role, OLD.all_boards_read, OLD.all_boards_write) IS DISTINCT FROM (NEW.role, NEW.all_boards_read, NEW.all_boards_write))
  EXECUTE FUNCTION "grant_keys_of_member"();
--> statement-breakpoint
CREATE TRIGGER "keys_of_board_access" AFTER INSERT OR UPDATE OR DELETE ON "organization_board_access" FOR EACH ROW
  EXECUTE FUNCTION "grant_keys_of_member"();
--> statement-breakpoint
-- A key ends with its membership. Its user stays, because comments and events name it.
CREATE FUNCTION "end_key"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM public.organization_members AS member WHERE member.user_id = OLD.id AND member.organization_id = OLD.organization_id;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "end_of_keys" AFTER DELETE ON "api_keys" FOR EACH ROW EXECUTE FUNCTION "end_key"();
--> statement-breakpoint
CREATE FUNCTION "refuse_update_of_audit_event"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'Entries of the audit log are not changed.';
END $$;
--> statement-breakpoint
CREATE TRIGGER "no_update_of_audit_events" BEFORE UPDATE ON "audit_events" FOR EACH ROW EXECUTE FUNCTION "refuse_update_of_audit_event"();
