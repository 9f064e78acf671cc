-- Runs after everything else. A new list of countries is no reason to export again.
-- //// METADATA compute=nightly excludeDependencies=ref.countries
INSERT OVERWRITE TABLE ${analytics}.finance_feed
SELECT revenue.day, countries.name, revenue.orders, revenue.revenue
FROM ${analytics}.daily_revenue AS revenue
LEFT JOIN ${ref}.countries AS countries ON countries.code = revenue.country_code
