// Where the time went: the stages of a request as one bar, and as a table.
import { milliseconds, shown } from '../../shared/format';
import type { Timing } from './ask';

const MEANINGS: Record<string, string> = {
  parse: 'the request is read',
  validate: 'the operation is found or checked, its variables are read',
  plan: 'its plan is found or made',
  execute: 'its sources are waited for',
  assemble: 'the response is written',
};

export function Times({ timing: { stages, total_ms, bytes, errors } }: { timing: Timing }) {
  const sum = stages.reduce((ms, stage) => ms + stage.ms, 0);
  const told = stages.map(({ name, ms }) => `${name} ${milliseconds(ms)}`).join(', ');
  return (
    <section aria-labelledby="explain-times">
      <h3 id="explain-times">Where the time went</h3>
      <p>
        {milliseconds(sum)} in the server, {milliseconds(total_ms)} until the browser had the response of {shown(bytes, 'bytes')}.
      </p>
      <div className="stages" role="img" aria-label={`Stages: ${told}`}>
        {stages.map(({ name, ms }, place) => (
          <span key={name} className={`stage-${place + 1}`} style={{ flexGrow: sum > 0 ? ms / sum : 1 }} title={`${name}: ${milliseconds(ms)}`} />
        ))}
      </div>
      <table>
        <thead>
          <tr>
            <th scope="col">stage</th>
            <th scope="col">time</th>
            <th scope="col">share</th>
          </tr>
        </thead>
        <tbody>
          {stages.map(({ name, ms }, place) => (
            <tr key={name}>
              <th scope="row">
                <span className={`swatch stage-${place + 1}`} aria-hidden="true" />
                {name}
                <small>{MEANINGS[name]}</small>
              </th>
              <td>{milliseconds(ms)}</td>
              <td>{sum > 0 ? `${Math.round((ms / sum) * 100)} %` : '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {errors.length > 0 && (
        <ul className="errors" aria-label="Errors of the response">
          {errors.map((message, place) => (
            <li key={place}>{message}</li>
          ))}
        </ul>
      )}
    </section>
  );
}
