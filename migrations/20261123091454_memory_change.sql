-- A new entry is new in its transaction and belongs to a board: the general function looked for more, for each webhook post.
CREATE OR REPLACE FUNCTION "record_memory"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.changes (organization_id, board_id, type, action, id)
  SELECT board.organization_id, board.id, 'memory', 'created', NEW.id FROM public.boards AS board WHERE board.id = NEW.board_id;
  RETURN NULL;
END $$;
