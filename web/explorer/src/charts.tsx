// Charts drawn without a library. Each has a question as its title, and its numbers as a table.
import type { ComponentChildren, JSX } from "preact";

interface Chart {
  title: string;
  /** the result of the chart, in a sentence */
  answer: ComponentChildren;
  points: { label: string; value: number; shown: string }[];
}

const WIDTH = 640;
const HEIGHT = 140;

function Frame({ title, answer, points, children }: Chart & { children: ComponentChildren }): JSX.Element {
  return (
    <figure class="chart">
      <figcaption>
        <h2>{title}</h2>
        <p>{answer}</p>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={title}>
        {children}
      </svg>
      <p class="ends" aria-hidden="true">
        <span>{points[0]?.label}</span>
        {points.length > 1 && <span>{points.at(-1)!.label}</span>}
      </p>
      <details>
        <summary>As a table</summary>
        <div class="scroll" tabIndex={0} role="region" aria-label={`${title} As a table`}>
          <table class="plain">
            <caption class="sr">{title}</caption>
            <tbody>
              {points.map(({ label, shown }, i) => (
                <tr key={i}>
                  <th scope="row">{label}</th>
                  <td class="right">{shown}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}

/** Line draws values over time, from zero. */
export function Line(chart: Chart): JSX.Element {
  const values = chart.points.map(({ value }) => value);
  const most = Math.max(...values, 1);
  const x = (i: number): number => (values.length < 2 ? 0 : (i / (values.length - 1)) * WIDTH);
  const y = (v: number): number => HEIGHT - 4 - (v / (most * 1.1)) * (HEIGHT - 8);
  const path = values.map((v, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(v).toFixed(1)}`).join("");
  return (
    <Frame {...chart}>
      <path class="area" d={`${path}L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z`} />
      <path class="line" d={path} vectorEffect="non-scaling-stroke" />
    </Frame>
  );
}

/** Bars draws one bar for each item. */
export function Bars({ most, ...chart }: Chart & { most?: number }): JSX.Element {
  const top = most ?? Math.max(...chart.points.map(({ value }) => value), 1);
  const step = WIDTH / Math.max(chart.points.length, 1);
  return (
    <Frame {...chart}>
      {chart.points.map(({ value, label, shown }, i) => {
        const height = value === 0 ? 0 : Math.max((value / top) * (HEIGHT - 4), 1);
        return (
          <rect key={i} class="bar" x={i * step + step * 0.1} y={HEIGHT - height} width={step * 0.8} height={height}>
            <title>{`${label}: ${shown}`}</title>
          </rect>
        );
      })}
    </Frame>
  );
}
