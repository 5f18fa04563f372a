import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { route, toBoard } from "../route.ts";
import type { SavedView } from "../types.ts";
import { FieldError, Form } from "../ui/form.tsx";
import { List } from "../ui/list.tsx";
import { Dialog } from "../ui/parts.tsx";
import { attempt } from "../ui/toast.tsx";
import { textOf } from "../ui/values.ts";

const PATH = "/api/v1/boards/{board_id}/saved-views";

/**
 * Changes the saved views. They are read first, because another window may have saved a view and the service replaces the whole
 * list.
 */
async function change(board_id: string, toNext: (views: SavedView[]) => SavedView[]): Promise<void> {
  const params = { path: { board_id } };
  const { views } = await api.get(PATH, { params });
  await api.put(PATH, { params, body: { views: toNext(views) } });
}

/** Lists the views of a board that the person has saved. A view is a name for filters, an order, and the shape: columns or list. */
export function SavedViews({ board_id, onClose }: { board_id: string; onClose: () => void }) {
  const read = async (signal: AbortSignal) => {
    const { views } = await api.get(PATH, { params: { path: { board_id } }, signal });
    return { items: views };
  };
  const from = useResource(read, [board_id], () => false, true);
  const query = route.value.query.toString();
  const addressOf = (view: SavedView) => (view.query ? `${toBoard(board_id)}?${view.query}` : toBoard(board_id));
  const save = (name: string) => {
    if (!name) throw new FieldError("name", "Choose a name.");
    return change(board_id, (views) => [...views.filter((view) => view.name !== name), { name, query }]);
  };
  const remove = async (name: string) => {
    const act = () => change(board_id, (views) => views.filter((view) => view.name !== name));
    if (await attempt("The view was not removed", act)) await from.reload();
  };
  return (
    <Dialog title="Your views of this board" onClose={onClose}>
      <List
        what="your views"
        from={from}
        empty={["You have saved no view.", "A view keeps the filters, the order, and whether the board is a list."]}
      >
        {(view) => (
          <div class="row" key={view.name}>
            <div class="grow">
              <span class="row-head">
                <a href={addressOf(view)} dir="auto" onClick={onClose}>
                  {view.name}
                </a>
                {view.query === query && <span class="badge accent">shown now</span>}
              </span>
            </div>
            <button type="button" class="small" aria-label={`Remove the view ${view.name}`} onClick={() => remove(view.name)}>
              Remove
            </button>
          </div>
        )}
      </List>
      <Form
        name={`view.${board_id}`}
        fields={[
          {
            name: "name",
            label: "Save what is shown now as",
            hint: "A view of the same name is replaced. Only you see your views.",
          },
        ]}
        start={{ name: "" }}
        label="Save the view"
        submit={async (typed) => save(textOf(typed, "name").trim())}
        onDone={from.reload}
      />
    </Dialog>
  );
}
